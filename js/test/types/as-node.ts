export * from 'node:fs';
export { default } from 'node:fs';
