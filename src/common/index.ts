export { ApiErrorResponse, ApiValidationErrorResponse, ErrorResponse } from './api-error-response';
export { Clock, SystemClock } from './clock';
export { DomainError, type DomainErrorOptions, type ErrorKind } from './domain-error';
export { messageOf, stackOf } from './error-text';
export { configureHttp } from './http/configure-http';
export { HttpAdapter } from './http/http-adapter';
export { RequestBodyGuard } from './http/request-body.guard';
export { toStream } from './http/to-stream';
export { Jobs } from './jobs/jobs';
export { JobsModule } from './jobs/jobs.module';
export { AppLogger, type AppLoggerOptions } from './logging/app-logger';
export { requestId, setRequestUser } from './logging/request-context';
export { compareDecimals, Money, multiplyDecimal, unitPriceWithMarkup } from './money';
export {
  AmountField,
  BooleanField,
  DateField,
  DateTimeField,
  IntegerField,
  ObjectField,
  OptionalStringField,
  StringField,
  StringListField,
} from './validation/fields';
export { HTTPValidationError, ValidationError } from './validation/http-validation-error';
export { IdParam, readId } from './validation/id-param';
export { Refusal, type ValidationItem } from './validation/refusal';
export { RequestInvalid } from './validation/request-invalid';
