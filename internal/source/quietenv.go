package source

// QuietEnviron returns the environment that keeps OpenCV and FFmpeg from writing to stderr themselves. OpenCV
// reads its level before main starts, so a parent has to give it to the processes that it launches.
func QuietEnviron() []string {
	return []string{"OPENCV_LOG_LEVEL=SILENT", "OPENCV_FFMPEG_LOGLEVEL=-8"}
}
