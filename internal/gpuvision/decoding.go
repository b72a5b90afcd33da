package gpuvision

import (
	"fmt"

	gpu "facetrack/infer/cuda"
	"facetrack/internal/cuda"
	"facetrack/internal/kernels/faces"
	"facetrack/vision"
)

// decoding is what differs between the kinds of detectors.
type decoding struct {
	norm      vision.Normalization
	priors    int
	reduction faces.Reduction
	threshold float64
	outputs   []int // YuNet: cls, obj, bbox, kps for each stride; BlazeFace: boxes, classes
	size      int
}

// newDecoding expects a graph that fits the kind, and options whose defaults are filled in.
func newDecoding(kind string, o outline, v vision.DetectorOptions) decoding {
	d := decoding{size: o.in[0].Shape[1], threshold: v.ScoreThreshold, reduction: faces.Reduction{IoU: v.NMSThreshold, MaxFaces: v.MaxFaces}}
	if kind == "yunet" {
		d.norm, d.priors, d.reduction.KeyPoints = vision.BGR255, faces.YuNetPriors(d.size), 5
		d.outputs = yuNetOutputs(o)
	} else {
		d.norm, d.priors, d.reduction.KeyPoints = vision.RGBSigned, faces.BlazeFacePriors, 6
		d.reduction.Merge = true
		d.outputs = blazeFaceOutputs(o)
	}
	return d
}

func yuNetOutputs(o outline) (list []int) {
	for _, stride := range []int{8, 16, 32} {
		for _, part := range []string{"cls", "obj", "bbox", "kps"} {
			for i, info := range o.out {
				if info.Name == fmt.Sprintf("%s_%d", part, stride) {
					list = append(list, i)
					break
				}
			}
		}
	}
	return list
}

func blazeFaceOutputs(o outline) []int {
	list := make([]int, 2)
	for i, info := range o.out {
		switch info.Len() {
		case 16 * faces.BlazeFacePriors:
			list[0] = i
		case faces.BlazeFacePriors:
			list[1] = i
		}
	}
	return list
}

// decode queues the way from the network's outputs to candidates.
func (d *decoding) decode(set *faces.Set, stream *cuda.Stream, net *gpu.Exec, to faces.Candidates, n int) error {
	if d.reduction.Merge {
		return set.DecodeBlazeFace(stream, net.Output(d.outputs[0]), net.Output(d.outputs[1]), d.threshold, to, n)
	}
	y := faces.YuNet{Size: d.size}
	for i := range y.Cls {
		own := d.outputs[4*i:]
		y.Cls[i], y.Obj[i], y.Box[i], y.Points[i] = net.Output(own[0]), net.Output(own[1]), net.Output(own[2]), net.Output(own[3])
	}
	return set.DecodeYuNet(stream, y, d.threshold, to, n)
}
