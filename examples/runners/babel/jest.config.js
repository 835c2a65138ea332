/** Test files that import: babel makes them CommonJS, as in most projects with Jest. */
module.exports = { transform: { '\\.m?js$': ['babel-jest', { configFile: `${__dirname}/babel.config.json` }] } };
