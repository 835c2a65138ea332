/** The package's version; tools/package.js compares it with package.json. */
export const VERSION = '0.1.0';
