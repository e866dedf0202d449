#!/usr/bin/env bash
# Puts the checkout of array-api-tests that the lists here were made with into a new folder.
# usage: fetch.sh FOLDER
set -euo pipefail
commit=55fcc60179efa2680ddd6cd926ddf17b83530e2b # 2026-04-03
seconds=120                                     # for each step that needs the network

mkdir -p "$(dirname "$1")"
mkdir "$1"
cd "$1"
git init --quiet
git remote add origin https://github.com/data-apis/array-api-tests
export GIT_TERMINAL_PROMPT=0
timeout "$seconds" git fetch --quiet --depth 1 origin "$commit"
git checkout --quiet FETCH_HEAD
# the standard's own stubs, at the commit that the suite names
timeout "$seconds" git submodule --quiet update --init --depth 1
