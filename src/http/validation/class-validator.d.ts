// These paths avoid the package's index, which would take 160 ms of each start. It loads 300 more modules,
// including all telephone formats.
declare module 'class-validator/cjs/decorator/common/Validate' {
  export { Validate, ValidatorConstraint } from 'class-validator';
}
declare module 'class-validator/cjs/validation/Validator' {
  export { Validator } from 'class-validator';
}
