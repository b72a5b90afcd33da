package gpu

import (
	"slices"

	"facetrack/infer"
)

// head is a 1×1 convolution and the depthwise convolution that alone reads it.
type head struct{ point, depth int }

// mergeHeads makes one wide head of those that read the same value, and slices its result: two launches instead of two
// for each head, and the value has one reader.
func (p *program) mergeHeads() {
	l, dead := p.links(), map[int]bool{}
	groups := map[infer.ValueID][]head{}
	var order []infer.ValueID
	for i := range p.ops {
		h, ok := p.matchHead(i, l)
		if !ok {
			continue
		}
		x := p.ops[i].Inputs[0]
		if first, seen := groups[x]; !seen {
			order = append(order, x)
		} else if !p.alike(first[0].depth, h.depth) {
			continue
		}
		groups[x] = append(groups[x], h)
	}
	merged := map[int][]op{} // by the first head's convolution, where they go
	for _, x := range order {
		heads := groups[x]
		if len(heads) < 2 {
			continue
		}
		merged[heads[0].point] = p.mergeGroup(heads)
		for _, h := range heads {
			dead[h.point], dead[h.depth] = true, true
		}
	}
	ops := make([]op, 0, len(p.ops))
	for i := range p.ops {
		ops = append(ops, merged[i]...)
		if !dead[i] {
			ops = append(ops, p.ops[i])
		}
	}
	p.ops = ops
}

func (p *program) matchHead(i int, l links) (head, bool) {
	n := &p.ops[i]
	if !p.isPointwise(n) || !isPlain(n) {
		return head{}, false
	}
	at := l.next(n.out())
	if at < 0 || !p.isDepthwise(&p.ops[at]) || !isPlain(&p.ops[at]) {
		return head{}, false
	}
	return head{i, at}, true
}

// alike says that two depthwise convolutions differ in their channels and constants alone.
func (p *program) alike(i, j int) bool {
	a, b := &p.ops[i], &p.ops[j]
	return a.Kernel == b.Kernel && a.Stride == b.Stride && a.Pads == b.Pads && a.Dilation == b.Dilation &&
		slices.Equal(p.shape(a.Inputs[0])[:3], p.shape(b.Inputs[0])[:3])
}

func (p *program) mergeGroup(heads []head) []op {
	point, depth := p.ops[heads[0].point], p.ops[heads[0].depth]
	point.weights, point.bias, depth.weights, depth.bias = nil, nil, nil, nil
	for _, h := range heads {
		n, d := &p.ops[h.point], &p.ops[h.depth]
		point.weights, point.bias = append(point.weights, n.weights...), append(point.bias, p.biasOf(n)...)
		depth.weights, depth.bias = append(depth.weights, d.weights...), append(depth.bias, p.biasOf(d)...)
	}
	channels := len(point.bias)
	wide := func(o *op) []int { return append(slices.Clone(p.shape(o.out())[:3]), channels) }
	between, result := p.newValue("heads", wide(&point)...), p.newValue("heads", wide(&depth)...)
	point.Outputs = []infer.ValueID{between}
	depth.Inputs, depth.Outputs, depth.Groups = []infer.ValueID{between}, []infer.ValueID{result}, channels
	return append([]op{point, depth}, p.sliceHeads(heads, result)...)
}

// sliceHeads gives every head its channels of the wide result.
func (p *program) sliceHeads(heads []head, wide infer.ValueID) []op {
	shape, first := p.shape(wide), 0
	var slices []op
	for _, h := range heads {
		d := &p.ops[h.depth]
		end := first + p.channels(d.out())
		slices = append(slices, op{Node: infer.Node{
			Op: infer.StridedSlice, Name: d.Name, Inputs: []infer.ValueID{wide}, Outputs: d.Outputs,
			Begin: []int{0, 0, 0, first}, End: []int{shape[0], shape[1], shape[2], end}, Steps: []int{1, 1, 1, 1},
		}})
		first = end
	}
	return slices
}

// biasOf gives a convolution's bias, zeros when it has none.
func (p *program) biasOf(o *op) []float32 {
	if o.bias != nil {
		return o.bias
	}
	return make([]float32, p.channels(o.out()))
}
