package infer

import "fmt"

// maxAttr bounds strides, kernels, pads and factors, so that products of them and dimensions cannot overflow.
const maxAttr = 1 << 16

func convShape(n *Node, in [][]int) ([]int, error) {
	x, w := in[0], in[1]
	if len(x) != 4 || len(w) != 4 {
		return nil, fmt.Errorf("activations and weights need rank 4")
	}
	if n.Groups < 1 || x[3]%n.Groups != 0 || w[0]%n.Groups != 0 || w[3] != x[3]/n.Groups {
		return nil, fmt.Errorf("%d groups do not fit %d input channels and weights %v", n.Groups, x[3], w)
	}
	if n.Kernel != [2]int{w[1], w[2]} {
		return nil, fmt.Errorf("kernel %v differs from weights %v", n.Kernel, w)
	}
	if n.Activation == PReluActivation {
		in = in[:len(in)-1]
	}
	if len(in) == 3 && (len(in[2]) != 1 || in[2][0] != w[0]) {
		return nil, fmt.Errorf("bias %v needs %d elements", in[2], w[0])
	}
	h, wd, err := windows(n, x, n.Dilation)
	return []int{x[0], h, wd, w[0]}, err
}

func poolShape(n *Node, x []int) ([]int, error) {
	if len(x) != 4 {
		return nil, fmt.Errorf("activations need rank 4")
	}
	for _, k := range []int{0, 1} {
		if n.Pads[k] >= n.Kernel[k] || n.Pads[k+2] >= n.Kernel[k] {
			return nil, fmt.Errorf("pads %v reach past the kernel %v", n.Pads, n.Kernel)
		}
	}
	h, w, err := windows(n, x, [2]int{1, 1})
	return []int{x[0], h, w, x[3]}, err
}

// windows is how many kernel positions fit along height and width.
func windows(n *Node, x []int, dilation [2]int) (h, w int, err error) {
	var out [2]int
	for a := range out {
		k, s, d, lo, hi := n.Kernel[a], n.Stride[a], dilation[a], n.Pads[a], n.Pads[a+2]
		if min(k, s, d) < 1 || min(lo, hi) < 0 || max(k, s, d, lo, hi) > maxAttr {
			return 0, 0, fmt.Errorf("kernel %v, stride %v, dilation %v or pads %v out of range", n.Kernel, n.Stride, dilation, n.Pads)
		}
		room := x[a+1] + lo + hi - ((k-1)*d + 1)
		if room < 0 {
			return 0, 0, fmt.Errorf("kernel %v does not fit the padded input", n.Kernel)
		}
		out[a] = room/s + 1
	}
	return out[0], out[1], nil
}

func padShape(n *Node, x []int) ([]int, error) {
	if len(n.Before) != len(x) || len(n.After) != len(x) {
		return nil, fmt.Errorf("pads %v and %v need one entry per axis", n.Before, n.After)
	}
	out := make([]int, len(x))
	for a, d := range x {
		if min(n.Before[a], n.After[a]) < 0 || max(n.Before[a], n.After[a]) > maxAttr {
			return nil, fmt.Errorf("pads %v and %v out of range", n.Before, n.After)
		}
		out[a] = n.Before[a] + d + n.After[a]
	}
	return out, nil
}

func sliceShape(n *Node, x []int) ([]int, error) {
	if len(n.Begin) != len(x) || len(n.End) != len(x) || len(n.Steps) != len(x) {
		return nil, fmt.Errorf("begin, end and steps need one entry per axis")
	}
	out := make([]int, len(x))
	for a, d := range x {
		b, e, s := n.Begin[a], n.End[a], n.Steps[a]
		if b < 0 || b >= e || e > d || s < 1 || s > MaxElements {
			return nil, fmt.Errorf("slice %d:%d:%d of axis %d is empty or out of range", b, e, s, a)
		}
		out[a] = (e - b + s - 1) / s
	}
	return out, nil
}

func resizeShape(n *Node, x []int) ([]int, error) {
	if len(x) != 4 {
		return nil, fmt.Errorf("activations need rank 4")
	}
	if min(n.Scale[0], n.Scale[1]) < 1 || max(n.Scale[0], n.Scale[1]) > maxAttr {
		return nil, fmt.Errorf("factors %v out of range", n.Scale)
	}
	return []int{x[0], x[1] * n.Scale[0], x[2] * n.Scale[1], x[3]}, nil
}
