package track

// ModelInterocularMM is the distance between the middles of the eyes of the head models, by which positions are to be scaled for
// people of another one: 63.0 mm in the canonical mesh of the public landmark bundle, 62.5 in the generic head.
const ModelInterocularMM = 63.0
