// Package synchrony measures how far the expressions of two people go together, while they are
// recorded: one frame at a time, with bounded memory and without allocation once it runs. It is plain
// Go on plain values. A [Pair] takes the frames of two sides, A and B, and gives a [Result] per step.
//
// # Common grid
//
// Both sides come with time stamps in ns on one clock (CLOCK_MONOTONIC), at any rate and with jitter,
// and are interpolated linearly at the instants t_i = t_0 + i·h, h = 1/Options.Rate, where t_0 is the
// first frame of either side. A sample is missing where the frames around it are further apart than
// Options.MaxGapSeconds, or where one of them has no value (NaN, infinite, beyond ±1000, no face):
// nothing is bridged that was not measured. There is no low-pass filter in front of the grid.
//
// x_i and y_i are the samples of A and B in one channel. A further series is the mean over the
// channels, missing where any of them is.
//
// # Windowed cross-correlation
//
// With a window of n samples that begins at s and a lag of k samples, |k| ≤ K,
//
//	r(k) = corr( x_{s+i}, y_{s+i+k} )   k ≥ 0
//	r(k) = corr( x_{s+i-k}, y_{s+i} )   k < 0,   i = 0 … n-1
//
// so the earlier side stays in the window and the other side's window moves on. A positive lag means
// that B follows A; exchanging the sides negates it. corr is Pearson's correlation over the pairs in
// which both samples are there. It is NaN with fewer than Options.MinValid·n such pairs, and where the
// standard deviation (divisor: the number of pairs) of either side over them is not above
// Options.MinDeviation: of noise around a resting face no correlation is made up.
//
// A peak is an r(k) from which r never rises over Options.PeakSpanSeconds to either side and is lower
// at the end of both spans. [Lagged] tells the peak nearest to lag 0, as in the paper (of two equally
// near the higher one), and the highest; NaN if there is none inside the range of lags. A parabola
// through r(k-1), r(k), r(k+1) refines lag and height. Unlike in the paper r is not smoothed over the
// lags; widen the span for noisy channels. The nearest peak may be low, even negative: where
// expressions repeat quicker than twice the delay of the one who follows, it is not the delay's.
//
//	S. M. Boker, M. Xu, J. L. Rotondo, K. King: Windowed cross-correlation and peak picking for the
//	analysis of variability in the association between behavioral time series. Psychological Methods
//	7(3), 2002, pp. 338–355.
//
//	M. Riehle, J. Kempkensteffen, T. M. Lincoln: Quantifying facial expression synchrony in face-to-face
//	dyadic interactions: temporal dynamics of simultaneously recorded facial EMG signals. Journal of
//	Nonverbal Behavior 41(2), 2017, pp. 85–102. (The same on smiles: lags are mostly below 1 s.)
//
// # Transient comodulation
//
// The same on first derivatives: how far brief movements go together, whatever level they start from.
// The derivative is the slope of a parabola fitted to 2m+1 samples, Options.DerivativeSeconds long:
//
//	x'_i = Σ_{j=-m}^{m} j·x_{i+j} / (h·Σ_{j=-m}^{m} j²)
//
// It is missing where one of them is. Its standard deviation must be above Options.MinSpeed.
//
//	A. Savitzky, M. J. E. Golay: Smoothing and differentiation of data by simplified least squares
//	procedures. Analytical Chemistry 36(8), 1964, pp. 1627–1639.
//
// # Sustained comodulation
//
// The correlation at lag 0 of slow baselines over a window of Options.SustainedSeconds that ends with
// the window above. The baseline is the mean over the last Options.BaselineSeconds (l samples),
//
//	b_i = mean( x_{i-l+1} … x_i ),
//
// missing with fewer than Options.MinValid·l samples there. What it says is hence about l/2 samples
// older than the window. Its standard deviation must be above Options.MinBaselineDeviation.
//
// # What chance gives
//
// Two unrelated series that change slowly correlate by chance, the more the slower they are: a
// sustained window of 30 s holds some three independent baselines of 10 s, and a peak is picked out of
// many lags. Judge every measure against surrogates: people paired who never met, or with times
// exchanged, as in
//
//	F. Ramseyer, W. Tschacher: Nonverbal synchrony in psychotherapy: coordinated body movement reflects
//	relationship quality and outcome. Journal of Consulting and Clinical Psychology 79(3), 2011,
//	pp. 284–295.
//
// # Latency
//
// A result leaves when both sides have a frame at or after the last grid sample that it needs, which
// is K+m samples after the end of its window: with the defaults 2.1 s and what the cameras take. A side
// that is silent is waited for until the other one is Options.WaitSeconds ahead; then its samples are
// missing, and results go on, NaN where too little is left. [Pair.Advance] does the same when both
// are silent.
package synchrony
