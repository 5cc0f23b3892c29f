export {
  type ErrorsOfStatus,
  describeRoute,
  rateLimitHeaders,
  type RouteDescription,
} from './description/describe-route';
export {
  ApiBoolean,
  ApiChoice,
  ApiInteger,
  ApiListOf,
  ApiMoment,
  ApiNullable,
  ApiNullableMoment,
  ApiRoubles,
  ApiText,
  ApiTexts,
  ApiTitled,
} from './description/api-properties';
export { IntersectionType, OmitType, PickType } from './description/mapped-types';
export type { ClosedConnections } from './connections';
export { statusOf } from './errors/error.filter';
export { isJsonObject, type JsonValue } from './json/json-value';
export { isReplay, markReplay, readIdempotencyKey } from './description/idempotency-key';
export {
  assertPeriod,
  CURSOR,
  CursorUnknown,
  INVALID_PERIOD,
  LimitField,
  NEXT_CURSOR,
  type Page,
  PageOf,
  PageQuery,
  type PageRequest,
  readPage,
  readPageBy,
  toPage,
} from './paging';
export { withoutDuration } from './request-metrics';
export { LargeBodies } from './large-bodies';
export { BodyTooLarge, parseBody } from './request-body';
export {
  AnyContentEncoding,
  MaxBodyBytes,
  receivedBytes,
  RequestInputGuard,
  UnparsedBody,
} from './request-input.guard';
export { csvFile, toStream } from './to-stream';
export { atMostEachMinute } from './rare-warning';
export { RequestCounter } from './limits/request-counter';
export { disconnection, RequestsUnderWay, TooManyUnderWay } from './under-way';
export {
  AmountField,
  BooleanField,
  DateField,
  DateTimeField,
  type FieldOptions,
  IntegerField,
  ObjectField,
  StringField,
  StringListField,
} from './validation/fields';
export { ApiIdParam, decorateRoute, IdParam, readId, TextHeader } from './validation/id-param';
export {
  ChoiceField,
  ExcelField,
  FromField,
  IdField,
  PRINTABLE,
  SearchField,
  TextField,
  ToField,
} from './validation/common-fields';
export { InputMistake, RequestInvalid } from './validation/input-mistake';
export { StrictRequest } from './validation/strict-request';
export { handlerArguments, inputOf, RefuseStrayQuery, type RouteInput } from './validation/route-input';
export { instanceOf, readInput } from './validation/read-input';
export { declaredFields, type FieldDescription } from './validation/read-instance';
export { type ApiInterface, describeObjectsOf, serveDescription } from './description/swagger';
export { TooManyRequests } from './limits/limits.errors';
export { RequestLimits } from './limits/request-limits';
