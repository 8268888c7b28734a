//! The command line.

use std::path::PathBuf;

use anstream::{AutoStream, stream::RawStream};
use clap::error::ErrorKind;
use clap::{ArgGroup, CommandFactory, Parser, ValueEnum, value_parser};

const EXIT_CODES: &str = "\
Exit codes: 0 clean, 1 defects, 2 wrong usage or unreadable input, 101 a bug of this program, 130 interrupted.";

/// Finds every defect of an op manifest: a language server for editors, modes for CI.
#[derive(Debug, Clone, Parser)]
#[command(name = "tileops-lsp", version, max_term_width = 100, after_help = EXIT_CODES)]
#[command(group(ArgGroup::new("fixing").args(["fix", "diff"])))]
#[command(group(ArgGroup::new("mode").args(["check", "rows", "explain", "print_schema"])))]
pub(crate) struct Arguments {
    /// Serve an editor on standard input and output, which is what happens without a mode, too
    #[arg(long, conflicts_with = "mode")]
    pub(crate) stdio: bool,

    /// Report every defect of manifests
    #[arg(long)]
    pub(crate) check: bool,

    /// Print every call that the workload rows of manifests determine
    #[arg(long)]
    pub(crate) rows: bool,

    /// Print the page of a defect code; `all` lists the codes
    #[arg(long, value_name = "CODE", conflicts_with_all = ["paths", "format", "select_op", "jobs"])]
    pub(crate) explain: Option<String>,

    /// Print a JSON schema: of tileops.toml, of an editor's settings, or of a GPU profile
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["paths", "format", "select_op", "jobs"])]
    pub(crate) print_schema: Option<Schema>,

    /// Files and folders; `-` is standard input. Without any, the manifest folders of tileops.toml, else `manifest`
    #[arg(value_name = "PATH", requires = "mode")]
    pub(crate) paths: Vec<PathBuf>,

    /// The path that standard input stands for: its place says which manifest it is part of
    #[arg(long, value_name = "PATH")]
    pub(crate) stdin_filename: Option<PathBuf>,

    /// How to write the report: human (default), concise, json, sarif, github, gitlab or junit with --check; table
    /// (default) or json with --rows
    #[arg(long, value_enum, value_name = "FORMAT", requires = "mode", hide_possible_values = true)]
    pub(crate) format: Option<Format>,

    /// Write the report to a file
    #[arg(long, value_name = "FILE", requires = "mode")]
    pub(crate) output_file: Option<PathBuf>,

    /// Report the judgments that could not be made, too, each with the fact that it lacks
    #[arg(long, requires = "check", conflicts_with_all = ["rows", "explain"])]
    pub(crate) unreached: bool,

    /// Report a code as an error
    #[arg(long, value_name = "CODE", value_delimiter = ',', requires = "check", conflicts_with_all = ["rows", "explain"])]
    pub(crate) error: Vec<String>,

    /// Report a code as an advisory
    #[arg(long, value_name = "CODE", value_delimiter = ',', requires = "check", conflicts_with_all = ["rows", "explain"])]
    pub(crate) warn: Vec<String>,

    /// Do not report a code
    #[arg(long, value_name = "CODE", value_delimiter = ',', requires = "check", conflicts_with_all = ["rows", "explain"])]
    pub(crate) ignore: Vec<String>,

    /// Exit with 1 on advisories, too
    #[arg(long, requires = "check", conflicts_with_all = ["rows", "explain"])]
    pub(crate) error_on_advisory: bool,

    /// Look only at ops whose name matches, as in `Gemm*`
    #[arg(long, value_name = "GLOB", requires = "mode")]
    pub(crate) select_op: Vec<String>,

    /// Count defects by code
    #[arg(long, requires = "check", conflicts_with_all = ["rows", "explain"])]
    pub(crate) statistics: bool,

    /// Leave out the defects that a file lists
    #[arg(long, value_name = "FILE", requires = "check", conflicts_with_all = ["rows", "explain"])]
    pub(crate) baseline: Option<PathBuf>,

    /// Write the baseline: all defects where there is none yet, else what is left of it
    #[arg(long, requires = "baseline", conflicts_with_all = ["rows", "explain", "watch", "select_op"])]
    pub(crate) write_baseline: bool,

    /// Make every fix that is safe, and report what is left; with `-`, write the fixed text to standard output
    #[arg(long, requires = "check", conflicts_with_all = ["rows", "explain", "watch"])]
    pub(crate) fix: bool,

    /// Show what --fix would change as a unified diff, and change nothing; exit with 1 where it would change something or
    /// errors are left
    #[arg(long, requires = "check", conflicts_with_all = [
        "rows", "explain", "watch", "fix", "format", "statistics", "unreached", "write_baseline",
    ])]
    pub(crate) diff: bool,

    /// With --fix or --diff, make the fixes that may not be what was meant, too
    #[arg(long, requires = "fixing")]
    pub(crate) unsafe_fixes: bool,

    /// Report again whenever a file changes
    #[arg(long, requires = "check", conflicts_with_all = ["rows", "explain"])]
    pub(crate) watch: bool,

    /// Say which files were skipped, and why
    #[arg(long, short, requires = "mode")]
    pub(crate) verbose: bool,

    /// When to use colors; `auto` heeds NO_COLOR
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN")]
    pub(crate) color: ColorChoice,

    /// How many threads to use
    #[arg(long, value_name = "N", requires = "mode", value_parser = value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
}

/// What a run is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode<'a> {
    Check,
    Rows,
    Explain(&'a str),
    Schema(Schema),
    Server,
}

/// What a schema can be of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Schema {
    Config,
    Settings,
    Profile,
}

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Human,
    Concise,
    Json,
    Sarif,
    Github,
    Gitlab,
    Junit,
    Table,
}

/// When colors are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    Auto,
    Always,
    Never,
}

impl ColorChoice {
    /// Whether colors are used on `stream`.
    pub(crate) fn applies_to(self, stream: &impl RawStream) -> bool {
        match self {
            ColorChoice::Auto => AutoStream::choice(stream) != anstream::ColorChoice::Never,
            ColorChoice::Always => true,
            ColorChoice::Never => false,
        }
    }
}

impl Arguments {
    /// What the run is asked to do.
    pub(crate) fn mode(&self) -> Mode<'_> {
        if let Some(schema) = self.print_schema {
            return Mode::Schema(schema);
        }
        match (&self.explain, self.check, self.rows) {
            (Some(code), ..) => Mode::Explain(code),
            (None, true, _) => Mode::Check,
            (None, false, true) => Mode::Rows,
            (None, false, false) => Mode::Server,
        }
    }

    /// Whether standard input is one of the paths.
    pub(crate) fn reads_stdin(&self) -> bool {
        self.paths.iter().any(|path| path.as_os_str() == "-")
    }

    /// Refuses what clap cannot know to be wrong.
    pub(crate) fn validated(self) -> Result<Self, clap::Error> {
        let refuse = |message: String| Err(Arguments::command().error(ErrorKind::ArgumentConflict, message));
        let (mode, allowed): (_, &[Format]) = if self.rows {
            ("rows", &[Format::Table, Format::Json])
        } else {
            use Format::{Concise, Github, Gitlab, Human, Json, Junit, Sarif};
            ("check", &[Human, Concise, Json, Sarif, Github, Gitlab, Junit])
        };
        if let Some(format) = self.format
            && !allowed.contains(&format)
        {
            let names = allowed.iter().filter_map(Format::to_possible_value);
            let names = names.map(|value| value.get_name().to_owned()).collect::<Vec<_>>().join(", ");
            return refuse(format!("with --{mode}, --format takes one of {names}"));
        }
        match (self.reads_stdin(), &self.stdin_filename) {
            (true, None) => {
                return refuse("`-` needs --stdin-filename PATH: a file's place says what it is part of".to_owned());
            }
            (false, Some(_)) => return refuse("--stdin-filename needs `-` among the paths".to_owned()),
            (true, Some(_)) if (self.fix || self.diff) && self.paths.len() > 1 => {
                return refuse("with --fix and --diff, `-` is the only path".to_owned());
            }
            (true, Some(_)) if self.watch => return refuse("--watch cannot watch standard input".to_owned()),
            (true, Some(_)) | (false, None) => {}
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from(line.split_whitespace()).and_then(Arguments::validated)
    }

    #[test]
    fn the_declaration_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn modes_exclude_each_other() {
        assert_eq!(parse("x").expect("no mode").mode(), Mode::Server);
        assert_eq!(parse("x --check a b").expect("check").mode(), Mode::Check);
        assert_eq!(parse("x --rows").expect("rows").mode(), Mode::Rows);
        assert_eq!(parse("x --print-schema profile").expect("a schema").mode(), Mode::Schema(Schema::Profile));
        for wrong in [
            "x --check --rows",
            "x --check --print-schema config",
            "x --print-schema nothing",
            "x --check --explain a",
            "x a.yaml",
            "x --statistics",
            "x --rows --unreached",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn formats_belong_to_modes_and_stdin_has_a_name() {
        assert!(parse("x --check --format sarif").is_ok());
        assert!(parse("x --rows --format json").is_ok());
        for wrong in [
            "x --rows --format sarif",
            "x --check --format table",
            "x --check -",
            "x --check --stdin-filename a.yaml",
            "x --check --watch - --stdin-filename a.yaml",
            "x --check --write-baseline",
            "x --check --jobs 0",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
