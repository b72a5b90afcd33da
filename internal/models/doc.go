// Package models knows the model files. Of the public ones, which are no part of this repository, it knows where each comes from, what its
// bytes must hash to and where it lies on this machine; it downloads them and opens sessions on them. Our own are part of the program.
//
// A public model is looked for, in this order: the path given instead of a name; $FACETRACK_ASSETS/models; for
// development, shared/assets/models beside the checkout that holds the working directory; and
// facetrack/models in the user's cache folder ($XDG_CACHE_HOME, else ~/.cache), where Fetch puts it.
package models
