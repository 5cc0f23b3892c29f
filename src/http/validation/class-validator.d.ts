// Imports from these paths avoid the package's index, which takes 160 ms to load.
declare module 'class-validator/cjs/decorator/common/Validate' {
  export { Validate, ValidatorConstraint } from 'class-validator';
}
declare module 'class-validator/cjs/validation/Validator' {
  export { Validator } from 'class-validator';
}
