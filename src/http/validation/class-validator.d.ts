// The package's index loads 300 more modules, including all telephone formats: 160 ms of each start.
declare module 'class-validator/cjs/decorator/common/Validate' {
  export { Validate, ValidatorConstraint } from 'class-validator';
}
declare module 'class-validator/cjs/validation/Validator' {
  export { Validator } from 'class-validator';
}
