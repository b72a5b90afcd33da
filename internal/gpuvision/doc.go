// Package gpuvision is package vision on an NVIDIA GPU: frames that are in its memory, or brought there, become faces, points, blendshapes
// and looks without a way back to the host between.
//
// A run is what the frames have to be waited for, and one launch of a captured graph on fixed addresses: descriptions of frames or regions go up,
// kernels cut, fit, compute and decode, and one record a face or frame comes back. [Detector] and [Landmarker] mean the same
// as their namesakes of package vision.
package gpuvision
