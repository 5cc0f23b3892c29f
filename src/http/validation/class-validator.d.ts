// The package's index loads 300 modules more, with the numbers of all telephones: 160 ms of each start.
declare module 'class-validator/cjs/decorator/common/Validate' {
  export { Validate, ValidatorConstraint } from 'class-validator';
}
declare module 'class-validator/cjs/validation/Validator' {
  export { Validator } from 'class-validator';
}
