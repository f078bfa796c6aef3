#!/bin/sh
# A small package as one finds it in the middle of a working day; PYTHON is the interpreter to use.
# Left behind: bytecode of a file that was just edited, of one that was compiled within the second
# of its commit, of a deleted package, one that git tracks, and plenty that is right.
set -eu
python=${PYTHON:-python3}
git init -q
printf '__pycache__/\n' >.gitignore
printf '[tool.pycgate]\nexclude = ["build/"]\n' >pyproject.toml
mkdir -p shop plugins build tests
: >shop/__init__.py
printf 'RATE = 19\n' >shop/tax.py
printf 'from shop import tax\ndef total(net): return net * (100 + tax.RATE) // 100\n' >shop/cart.py
printf 'NAME = "csv"\n' >shop/export.py
printf 'ON = 1\n' >plugins/old.py
: >plugins/__init__.py
printf 'X = 1\n' >build/made.py
printf 'from shop import cart\ndef test_total():\n    assert cart.total(100) == 119\n' >tests/test_cart.py
git add -A
git commit -q -m 'A shop'
sleep 3
$python -c 'import shop.cart, shop.export, plugins.old'
$python -m compileall -q build tests
git rm -q -r plugins
git commit -q -m 'No plugins any more'
# The same size within the same second: the entry goes on being loaded.
stamp=$(mktemp)
printf 'RATE = 20\n' >shop/tax.py
printf 'NAME = "xml"\n' >shop/export.py
touch -r shop/cart.py shop/export.py "$stamp"
touch -r "$stamp" shop/export.py shop/tax.py
rm "$stamp"
$python -c 'import shop.export'
git add -f shop/export.py
git commit -q -m 'Export XML'
$python -c 'import shop.export'
mkdir -p vendored
printf 'V = 1\n' >vendored/third.py
$python -m compileall -q vendored
git add -f vendored
git commit -q -m 'Vendor a module, bytecode and all'
