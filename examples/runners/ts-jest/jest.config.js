/** TypeScript that ts-jest makes CommonJS; types are checked. */
module.exports = { transform: { '\\.ts$': ['ts-jest', { tsconfig: `${__dirname}/tsconfig.json` }] } };
