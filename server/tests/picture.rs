//! The picture in the README is what the program prints today.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

#[test]
fn the_readmes_picture_is_what_check_prints() {
    let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/images");
    let output = Command::new(env!("CARGO_BIN_EXE_tileops-lsp"))
        .args(["--check", "check.yaml", "--color", "always"])
        .current_dir(&images)
        .output()
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = format!("$ tileops-lsp --check check.yaml\n{}", String::from_utf8_lossy(&output.stdout));
    let picture = anstyle_svg::Term::new().min_width_px(860).render_svg(&printed);
    let path = images.join("check.svg");
    if env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &picture).expect("written");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(
        kept == picture,
        "docs/images/check.svg is stale: UPDATE_EXPECT=1 cargo test -p tileops-lsp --test picture"
    );
}
