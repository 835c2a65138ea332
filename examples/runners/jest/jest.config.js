/** Jest as it is: CommonJS, each file in a context of its own. */
module.exports = {};
