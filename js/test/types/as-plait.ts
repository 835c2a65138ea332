export * from 'plait/fs';
export { default } from 'plait/fs';
