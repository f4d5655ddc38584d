//! Load on a server, from a process of its own: single predictions over kept connections, as fast as they are answered or at a rate.
//!
//! ```text
//! load ADDRESS TEXTS [--connections 32] [--seconds 10] [--rate N] [--idle 1000] [--slow]
//! ```
//! ADDRESS is the line `corpuscle serve` prints first, TEXTS a file with a text a line. With `--rate`, requests are due at fixed moments and
//! their time counts from when they were due, so that a server that falls behind cannot hide it. `--idle` opens connections that say
//! nothing beside it, `--slow` a client that sends a byte a second. Only the standard library: `rustc -O bench/src/bin/load.rs`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

type Fault = Box<dyn std::error::Error + Send + Sync>;

struct Options {
    host: String,
    token: String,
    texts: Vec<String>,
    connections: usize,
    seconds: f64,
    rate: Option<f64>,
    idle: usize,
    slow: bool,
}

fn options() -> Result<Options, Fault> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| -> Option<&String> {
        arguments.iter().position(|argument| argument == name).and_then(|at| arguments.get(at + 1))
    };
    let (Some(address), Some(texts)) = (arguments.first(), arguments.get(1)) else {
        return Err("load ADDRESS TEXTS [--connections N] [--seconds S] [--rate N] [--idle N] [--slow]".into());
    };
    let rest = address.strip_prefix("http://").ok_or("the address begins with http://")?;
    let (host, token) = rest.split_once("/?token=").ok_or("the address has its token")?;
    Ok(Options {
        host: host.to_string(),
        token: token.trim().to_string(),
        texts: std::fs::read_to_string(texts)?.lines().map(str::to_string).collect(),
        connections: value("--connections").map_or(Ok(32), |value| value.parse())?,
        seconds: value("--seconds").map_or(Ok(10.0), |value| value.parse())?,
        rate: value("--rate").map(|value| value.parse()).transpose()?,
        idle: value("--idle").map_or(Ok(0), |value| value.parse())?,
        slow: arguments.iter().any(|argument| argument == "--slow"),
    })
}

/// A text as JSON.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            control if (control as u32) < 0x20 => out += &format!("\\u{:04x}", control as u32),
            other => out.push(other),
        }
    }
    out + "\""
}

fn request(options: &Options, text: &str) -> Vec<u8> {
    let body = format!("{{\"texts\":[{}]}}", quoted(text));
    let head = format!(
        "POST /v1/predict HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\r\n",
        options.host,
        options.token,
        body.len()
    );
    (head + &body).into_bytes()
}

/// Reads one answer and gives its status.
fn answer(reader: &mut BufReader<TcpStream>, line: &mut String) -> Result<u16, Fault> {
    let (mut status, mut length) = (0, 0);
    loop {
        line.clear();
        if reader.read_line(line)? == 0 {
            return Err("the connection ended".into());
        }
        if status == 0 {
            status = line.split(' ').nth(1).ok_or("no status")?.parse()?;
        } else if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse()?;
        } else if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(status)
}

fn main() -> Result<(), Fault> {
    let options = options()?;
    let requests: Vec<Vec<u8>> = options.texts.iter().map(|text| request(&options, text)).collect();
    let idle = (0..options.idle).map(|_| TcpStream::connect(&options.host)).collect::<Result<Vec<_>, _>>()?;
    if options.slow {
        let (mut stream, bytes) = (TcpStream::connect(&options.host)?, requests[0].clone());
        std::thread::spawn(move || {
            for byte in bytes {
                if stream.write_all(&[byte]).is_err() {
                    return;
                }
                std::thread::sleep(Duration::from_secs(1));
            }
        });
    }
    let began = Instant::now();
    let work = |number: usize| -> Result<Vec<(f64, u16)>, Fault> {
        let stream = TcpStream::connect(&options.host)?;
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let (mut stream, mut line, mut times) = (stream, String::new(), Vec::new());
        for turn in 0.. {
            let due = options.rate.map(|rate| (turn * options.connections + number) as f64 / rate);
            if let Some(wait) = due.map(|due| due - began.elapsed().as_secs_f64()).filter(|wait| *wait > 0.0) {
                std::thread::sleep(Duration::from_secs_f64(wait));
            }
            let start = due.unwrap_or_else(|| began.elapsed().as_secs_f64());
            if start >= options.seconds {
                break;
            }
            stream.write_all(&requests[(number * 7919 + turn) % requests.len()])?;
            let status = answer(&mut reader, &mut line)?;
            times.push((began.elapsed().as_secs_f64() - start, status));
        }
        Ok(times)
    };
    let mut times = std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..options.connections).map(|number| scope.spawn(move || work(number))).collect();
        let mut all = Vec::new();
        for thread in threads {
            all.extend(thread.join().map_err(|_| "a thread failed")??);
        }
        Ok::<_, Fault>(all)
    })?;
    let seconds = began.elapsed().as_secs_f64();
    drop(idle);
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let at =
        |share: f64| times.get((share * (times.len() - 1) as f64) as usize).map_or(f64::NAN, |time| 1000.0 * time.0);
    let well = times.iter().filter(|(_, status)| *status == 200).count();
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{} requests in {seconds:.1} s: {:.0} a second, {well} answered 200",
        times.len(),
        times.len() as f64 / seconds
    )?;
    writeln!(out, "milliseconds: median {:.2}, 99th percentile {:.2}, longest {:.2}", at(0.5), at(0.99), at(1.0))?;
    Ok(())
}
