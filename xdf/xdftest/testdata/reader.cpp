// Prints what libxdf (Debian: libxdf-dev) finds in an XDF file, one fact a line. Usage: reader FILE
#include <xdf.h>

#include <cstdio>
#include <string>

// Texts may hold anything but NUL: they are printed as hexadecimal digits.
static void hex(const std::string &text) {
	std::printf(" x");
	for (unsigned char c : text) std::printf("%02x", c);
}

static void printStream(const Xdf &xdf, size_t i) {
	const Xdf::Stream &s = xdf.streams[i];
	std::printf("stream");
	hex(s.info.name);
	hex(s.info.type);
	std::printf(" %d %s %.17g\n", s.info.channel_count, s.info.channel_format.c_str(), s.info.nominal_srate);
	for (const auto &channel : s.info.channels) {
		std::printf("label");
		hex(channel.at("label"));
		hex(channel.at("unit"));
		std::printf("\n");
	}
	for (size_t n = 0; n < s.time_stamps.size(); n++) {
		std::printf("sample %.17g", s.time_stamps[n]);
		for (const auto &row : s.time_series) std::printf(" %.9g", row.at(n));
		std::printf("\n");
	}
	for (const auto &event : xdf.eventMap) {
		if (event.second != static_cast<int>(i)) continue;
		std::printf("sample %.17g", event.first.second);
		hex(event.first.first);
		std::printf("\n");
	}
	for (size_t n = 0; n < s.clock_times.size(); n++) std::printf("offset %.17g %.17g\n", s.clock_times[n], s.clock_values[n]);
	std::printf("footer %d %.17g %.17g %.17g\n", s.info.sample_count, s.info.first_timestamp, s.info.last_timestamp, s.info.measured_srate);
}

int main(int argc, char **argv) {
	Xdf xdf;
	if (argc != 2 || xdf.load_xdf(argv[1]) != 0) return 1;
	std::printf("version %.9g\n", xdf.version);
	for (size_t i = 0; i < xdf.streams.size(); i++) printStream(xdf, i);
}
