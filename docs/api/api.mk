# The API's pages, made of the types. TypeDoc does not take TypeScript 7, so it has a package of its own.

API := docs/api/node_modules/.package-lock.json

$(API): docs/api/package-lock.json
	@tools/need.sh $(NPM) npm
	cd docs/api && $(NPM) ci --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: api-docs
api-docs: $(BUILD)/dist.stamp $(API)
	cd docs/api && node_modules/.bin/typedoc --treatWarningsAsErrors
