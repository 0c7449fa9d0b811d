# Sourced by `deploy/demo` and `.ci/run`: installs Debian packages whose commands are missing, or says which they are.

# ensure_packages COMMAND:PACKAGE…
ensure_packages() {
    local missing=() pair
    for pair in "$@"; do
        command -v "${pair%%:*}" >/dev/null 2>&1 || missing+=("${pair#*:}")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
            as_root=(sudo -n)
        else
            echo "missing packages: ${missing[*]}" >&2
            echo "install them and run this again: sudo apt-get install ${missing[*]}" >&2
            exit 2
        fi
    fi
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "missing packages (Debian's names): ${missing[*]}; install them with this system's package manager" >&2
        exit 2
    fi
    echo "installing: ${missing[*]}" >&2
    "${as_root[@]}" apt-get update -qq
    DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# ensure_cargo: finds the Rust toolchain, also where a fresh rustup left it.
ensure_cargo() {
    command -v cargo >/dev/null 2>&1 || PATH="$HOME/.cargo/bin:$PATH"
    if ! command -v cargo >/dev/null 2>&1; then
        echo "missing: a Rust toolchain; install it from https://rustup.rs and run this again" >&2
        exit 2
    fi
}
