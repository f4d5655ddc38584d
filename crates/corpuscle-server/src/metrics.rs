//! Counters and times, written as Prometheus reads them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use corpuscle::recipe::drift::STRANGE;

/// Upper ends of the classes that times are counted in, in seconds.
const TIMES: [f64; 10] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10.0];

#[derive(Debug, Default, Clone)]
struct Times {
    within: [u64; TIMES.len()],
    count: u64,
    seconds: f64,
}

#[derive(Debug, Default)]
struct Counted {
    answers: BTreeMap<(&'static str, u16), u64>,
    times: BTreeMap<&'static str, Times>,
    /// Model: label.
    predictions: BTreeMap<String, BTreeMap<String, u64>>,
    /// Model: (documents with a p-value, those at 0.05 or less).
    novelty: BTreeMap<String, (u64, u64)>,
    /// Model: (unknown words, words) of the texts sampled.
    words: BTreeMap<String, (u64, u64)>,
    reloads: BTreeMap<(String, bool), u64>,
}

/// What has happened since the start.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    counted: Mutex<Counted>,
}

impl Metrics {
    fn with(&self, act: impl FnOnce(&mut Counted)) {
        act(&mut self.counted.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// A request was answered.
    pub(crate) fn answered(&self, route: &'static str, status: u16, took: Duration) {
        self.with(|counted| {
            *counted.answers.entry((route, status)).or_default() += 1;
            let times = counted.times.entry(route).or_default();
            let seconds = took.as_secs_f64();
            times.count += 1;
            times.seconds += seconds;
            for (within, limit) in times.within.iter_mut().zip(TIMES) {
                *within += u64::from(seconds <= limit);
            }
        });
    }

    /// Labels were given by a model, each with the p-value of the document being like the training ones, where it has one.
    pub(crate) fn predicted<'a>(&self, model: &str, given: impl Iterator<Item = (Option<&'a str>, Option<f64>)>) {
        self.with(|counted| {
            let (mut all, mut strange) = (0, 0);
            let labels = counted.predictions.entry(model.to_string()).or_default();
            for (label, novelty) in given {
                *labels.entry(label.unwrap_or_default().to_string()).or_default() += 1;
                if let Some(p) = novelty {
                    all += 1;
                    strange += u64::from(p <= STRANGE);
                }
            }
            if all > 0 {
                let sums = counted.novelty.entry(model.to_string()).or_default();
                *sums = (sums.0 + all, sums.1 + strange);
            }
        });
    }

    /// The words of a text were counted, and those the model does not know.
    pub(crate) fn sampled(&self, model: &str, unknown: u64, all: u64) {
        self.with(|counted| {
            let sums = counted.words.entry(model.to_string()).or_default();
            *sums = (sums.0 + unknown, sums.1 + all);
        });
    }

    /// A model's file was read again.
    pub(crate) fn reloaded(&self, model: &str, well: bool) {
        self.with(|counted| *counted.reloads.entry((model.to_string(), well)).or_default() += 1);
    }

    /// All of it as text; `gauges` are values of this moment: name, what it is, value.
    pub(crate) fn text(&self, gauges: &[(&str, &str, f64)]) -> String {
        let mut out = String::new();
        self.with(|counted| counted.write(&mut out));
        for (name, about, value) in gauges {
            let _ = writeln!(out, "# HELP {name} {about}\n# TYPE {name} gauge\n{name} {value}");
        }
        if let Some(bytes) = resident() {
            let name = "process_resident_memory_bytes";
            let _ = writeln!(out, "# HELP {name} Resident memory.\n# TYPE {name} gauge\n{name} {bytes}");
        }
        out
    }
}

impl Counted {
    fn write(&self, out: &mut String) {
        let head = |out: &mut String, name: &str, about: &str, kind: &str| {
            let _ = writeln!(out, "# HELP {name} {about}\n# TYPE {name} {kind}");
        };
        head(out, "corpuscle_requests_total", "Requests answered, by route and status.", "counter");
        for ((route, status), count) in &self.answers {
            let _ = writeln!(out, "corpuscle_requests_total{{route=\"{route}\",status=\"{status}\"}} {count}");
        }
        let name = "corpuscle_request_seconds";
        head(out, name, "Time from the head of a request to its answer.", "histogram");
        for (route, times) in &self.times {
            for (within, limit) in times.within.iter().zip(TIMES) {
                let _ = writeln!(out, "{name}_bucket{{route=\"{route}\",le=\"{limit}\"}} {within}");
            }
            let _ = writeln!(out, "{name}_bucket{{route=\"{route}\",le=\"+Inf\"}} {}", times.count);
            let _ = writeln!(out, "{name}_sum{{route=\"{route}\"}} {}", times.seconds);
            let _ = writeln!(out, "{name}_count{{route=\"{route}\"}} {}", times.count);
        }
        let name = "corpuscle_predictions_total";
        head(out, name, "Documents by the label a model gave them first.", "counter");
        for (model, labels) in &self.predictions {
            for (label, count) in labels {
                let _ = writeln!(out, "{name}{{model=\"{}\",label=\"{}\"}} {count}", escaped(model), escaped(label));
            }
        }
        let name = "corpuscle_novel_documents_total";
        head(
            out,
            name,
            "Documents whose p-value of being like the training ones is 0.05 or less; of corpuscle_compared_documents_total, about one in twenty where nothing has changed.",
            "counter",
        );
        for (model, (_, strange)) in &self.novelty {
            let _ = writeln!(out, "{name}{{model=\"{}\"}} {strange}", escaped(model));
        }
        let name = "corpuscle_compared_documents_total";
        head(out, name, "Documents that have been compared with the training ones.", "counter");
        for (model, (all, _)) in &self.novelty {
            let _ = writeln!(out, "{name}{{model=\"{}\"}} {all}", escaped(model));
        }
        let (name, all) = ("corpuscle_unknown_words_total", "corpuscle_sampled_words_total");
        head(out, name, "Words the model does not know, of corpuscle_sampled_words_total.", "counter");
        for (model, (unknown, _)) in &self.words {
            let _ = writeln!(out, "{name}{{model=\"{}\"}} {unknown}", escaped(model));
        }
        head(out, all, "Words of the texts whose words were counted.", "counter");
        for (model, (_, words)) in &self.words {
            let _ = writeln!(out, "{all}{{model=\"{}\"}} {words}", escaped(model));
        }
        let name = "corpuscle_reloads_total";
        head(out, name, "Times a replaced model file was read, by whether it could be.", "counter");
        for ((model, well), count) in &self.reloads {
            let _ = writeln!(out, "{name}{{model=\"{}\",loaded=\"{well}\"}} {count}", escaped(model));
        }
    }
}

/// A value between quotes.
pub(crate) fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Bytes of memory in use, where the system tells.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_can_be_read_by_prometheus() {
        let metrics = Metrics::default();
        metrics.answered("/v1/predict", 200, Duration::from_millis(2));
        metrics.answered("/v1/predict", 200, Duration::from_millis(200));
        metrics.predicted("m", [(Some("a \"b\"\n"), Some(0.01)), (None, None)].into_iter());
        metrics.reloaded("m", false);
        metrics.sampled("m", 2, 10);
        metrics.sampled("m", 1, 5);
        let text = metrics.text(&[("corpuscle_waiting", "Waiting.", 3.0)]);
        for line in [
            "corpuscle_requests_total{route=\"/v1/predict\",status=\"200\"} 2",
            "corpuscle_request_seconds_bucket{route=\"/v1/predict\",le=\"0.0025\"} 1",
            "corpuscle_request_seconds_bucket{route=\"/v1/predict\",le=\"+Inf\"} 2",
            "corpuscle_predictions_total{model=\"m\",label=\"a \\\"b\\\"\\n\"} 1",
            "corpuscle_novel_documents_total{model=\"m\"} 1",
            "corpuscle_unknown_words_total{model=\"m\"} 3",
            "corpuscle_sampled_words_total{model=\"m\"} 15",
            "corpuscle_reloads_total{model=\"m\",loaded=\"false\"} 1",
            "corpuscle_waiting 3",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        // Every line is a comment or a name with a number.
        assert!(
            text.lines().all(|line| line.starts_with('#') || line.rsplit(' ').next().unwrap().parse::<f64>().is_ok())
        );
    }
}
