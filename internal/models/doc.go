// Package models knows the public model files: where each comes from, what its bytes must hash to and where
// it lies on this machine; it downloads them and opens sessions on them. No model is part of this repository.
//
// A model is looked for, in this order: the path given instead of a name; $FACETRACK_ASSETS/models; for
// development, shared/assets/models beside the checkout that holds the working directory; and
// facetrack/models in the user's cache folder ($XDG_CACHE_HOME, else ~/.cache), where Fetch puts it.
package models
