#include "workload/arrivals.hpp"

#include <algorithm>
#include <boost/random/gamma_distribution.hpp>
#include <cmath>
#include <limits>

#include "units/error.hpp"

namespace servegrid::workload {

using catalog::ArrivalSpec;

Arrivals::Arrivals(const catalog::WorkloadSpec& spec, std::uint64_t seed)
    : spec_(spec.arrivals), rate_(spec.rate), requests_(spec.requests), stream_(seed, "arrivals") {
  const auto require = [](bool ok, const char* message) {
    if (!ok) throw InputError(std::string("workload: ") + message);
  };
  require(rate_ > 0 && std::isfinite(rate_), "rate must be above 0 requests per second");
  for (const double value : spec_.curve) curve_mean_ += value;
  if (!spec_.curve.empty()) {
    curve_mean_ = (curve_mean_ - 1) / static_cast<double>(spec_.curve.size());
  }
  // Pieces far shorter than the gaps between requests would only cost time.
  const double piece = spec_.on > 0 ? spec_.on + spec_.off
                       : spec_.curve.empty()
                           ? std::numeric_limits<double>::infinity()
                           : spec_.period / static_cast<double>(spec_.curve.size());
  require(piece * rate_ >= 1e-3,
          "the rate changes more than 1000 times between two requests: use longer parts");
}

double Arrivals::gap() const {
  switch (spec_.process) {
    case ArrivalSpec::Process::constant:
      return 1;
    case ArrivalSpec::Process::gamma: {
      SplitMix64 random = stream_.at(issued_);
      boost::random::gamma_distribution<double> gamma(spec_.burstiness, 1 / spec_.burstiness);
      return gamma(random);
    }
    case ArrivalSpec::Process::poisson:
      break;
  }
  return draw_exponential(1, stream_, issued_);
}

// vllm/benchmarks/serve.py: by the share of the requests that were issued.
double Arrivals::ramped_rate() const {
  const double progress =
      static_cast<double>(issued_) / static_cast<double>(std::max<std::int64_t>(1, requests_ - 1));
  if (spec_.ramp == ArrivalSpec::Ramp::linear) {
    return spec_.ramp_from + (spec_.ramp_to - spec_.ramp_from) * progress;
  }
  return spec_.ramp_from * std::pow(spec_.ramp_to / spec_.ramp_from, progress);
}

double Arrivals::factor() const {
  double f = 1;
  if (spec_.on > 0) f = piece_ % 2 == 0 ? 1 : spec_.off_rate / rate_;
  if (!spec_.curve.empty()) {
    f = spec_.curve[static_cast<std::size_t>(piece_) % spec_.curve.size()] / curve_mean_;
  }
  if (spike_ < spec_.spikes.size() && now_ >= spec_.spikes[spike_].at) {
    f *= spec_.spikes[spike_].factor;
  }
  return f;
}

double Arrivals::piece_end() const {
  double end = std::numeric_limits<double>::infinity();
  const auto next = static_cast<double>(piece_ + 1);
  if (spec_.on > 0) {
    end = static_cast<double>((piece_ + 1) / 2) * (spec_.on + spec_.off) +
          (piece_ % 2 == 0 ? spec_.on : 0);
  } else if (!spec_.curve.empty()) {
    end = next * (spec_.period / static_cast<double>(spec_.curve.size()));
  }
  if (spike_ < spec_.spikes.size()) {
    const ArrivalSpec::Spike& s = spec_.spikes[spike_];
    end = std::min(end, now_ < s.at ? s.at : s.at + s.duration);
  }
  return end;
}

// To the end of the piece: whichever boundaries lie there are passed.
void Arrivals::move_to(double time) {
  const std::size_t spike = spike_;
  if (spike < spec_.spikes.size() && now_ >= spec_.spikes[spike].at &&
      spec_.spikes[spike].at + spec_.spikes[spike].duration <= time) {
    ++spike_;
  }
  now_ = time;
  const std::size_t none = spec_.spikes.size();
  const std::size_t kept = spike_;
  spike_ = none;
  while (piece_end() <= time) ++piece_;
  spike_ = kept;
}

Ticks Arrivals::next() {
  const bool steady = spec_.on <= 0 && spec_.curve.empty() && spec_.spikes.empty();
  if (spec_.ramp != ArrivalSpec::Ramp::none) {
    last_ += to_ticks(gap() / ramped_rate());
  } else if (steady) {
    // The same gaps at any rate, only scaled: two rates are compared with common random numbers.
    last_ += to_ticks(1.0 / rate_ * gap());
  } else {
    double work = gap();
    for (;;) {
      const double rate = rate_ * factor(), end = piece_end();
      if (rate > 0 && work <= rate * (end - now_)) {
        now_ = std::min(end, now_ + work / rate);
        break;
      }
      work -= rate > 0 ? rate * (end - now_) : 0;
      move_to(end);
    }
    last_ = std::max(last_, to_ticks(now_));
  }
  ++issued_;
  return last_;
}

}  // namespace servegrid::workload
