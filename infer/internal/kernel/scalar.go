package kernel

import "math"

// unary functions are computed in float64 and rounded once.
var unary = map[string]func(float32) float32{
	"Neg":      func(x float32) float32 { return -x },
	"Sqrt":     func(x float32) float32 { return float32(math.Sqrt(float64(x))) },
	"Rsqrt":    func(x float32) float32 { return float32(1 / math.Sqrt(float64(x))) },
	"Logistic": func(x float32) float32 { return float32(1 / (1 + math.Exp(-float64(x)))) },
	"Relu":     Relu,
}

var binary = map[string]func(a, b float32) float32{
	"Add":               func(a, b float32) float32 { return a + b },
	"Sub":               func(a, b float32) float32 { return a - b },
	"Mul":               func(a, b float32) float32 { return a * b },
	"Div":               func(a, b float32) float32 { return a / b },
	"SquaredDifference": func(a, b float32) float32 { return (a - b) * (a - b) },
}

// Unary is the function of the operator with this name, if it has one operand.
func Unary(op string) (func(float32) float32, bool) { f, ok := unary[op]; return f, ok }

// Binary is the function of the operator with this name, if it has two operands that broadcast.
func Binary(op string) (func(a, b float32) float32, bool) { f, ok := binary[op]; return f, ok }

// Relu cuts at zero.
func Relu(x float32) float32 { return max(x, 0) }

// Relu6 cuts at zero and at six.
func Relu6(x float32) float32 { return min(max(x, 0), 6) }

// PRelu is x where positive, else slope × x.
func PRelu(x, slope float32) float32 {
	if x < 0 {
		return x * slope
	}
	return x
}
