package synchrony

// Result is the synchrony of two sides in one window.
type Result struct {
	FromNS, ToNS int64       // the window, from ≤ t < to, on the clock of the frames
	Channels     []Synchrony // in the order of Options.Channels; overwritten by the next result
	Mean         Synchrony   // of the series that is the mean over the channels
}

// Synchrony has the measures of one series, as the package defines them. A number is finite, or NaN
// where it cannot be told.
type Synchrony struct {
	Value     Lagged // of the values
	Transient Lagged // of their derivatives
	Sustained Level  // of their baselines
}

// Lagged is a windowed cross-correlation.
type Lagged struct {
	R       float64 // at lag 0
	Nearest Peak    // the peak nearest to lag 0
	Highest Peak    // the highest of all
	Valid   int     // pairs of samples at lag 0
}

// Peak is a local maximum over the lags.
type Peak struct {
	R          float64
	LagSeconds float64 // positive: B follows A
}

// Level is a correlation at lag 0.
type Level struct {
	R     float64
	Valid int // pairs of samples
}

// Stats counts what went wrong, by side where it is an array.
type Stats struct {
	Dropped  [2]int // frames not after the one before, or with an impossible time
	Late     [2]int // frames whose time was settled without them: after Options.WaitSeconds, or before the grid began
	Restarts int    // silences of both sides after which a new grid began
}
