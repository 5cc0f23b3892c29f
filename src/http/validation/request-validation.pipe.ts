import { type ArgumentMetadata, Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { isJsonObject, type JsonValue } from '../json/json-value';
import { boundedMistakes } from './bounded-mistakes';
import { missing, notAnObject } from './fields';
import { readInstance } from './read-instance';
import { RefusedItems, type ValidationItem } from './refusal';
import { RequestFields } from './request-fields';
import { RequestInvalid } from './request-invalid';
import { isStrict } from './strict-request';

const BUILT_IN: readonly unknown[] = [undefined, Object, Array, String, Number, Boolean];

/**
 * Turns the query or the body of a request into an instance of its DTO: declared fields only, coerced, with
 * defaults filled in. Throws `RequestInvalid` with all items, in the order in which the DTO declares the
 * fields. A DTO with `@StrictRequest` refuses undeclared fields as well.
 */
@Injectable()
export class RequestValidationPipe implements PipeTransform<JsonValue | undefined> {
  transform(value: JsonValue | undefined, { type, metatype }: ArgumentMetadata): unknown {
    if (metatype === undefined || BUILT_IN.includes(metatype)) return value;
    if (type === 'query') return readQuery(metatype, value);
    if (type === 'body') return readBody(metatype, value);
    return value;
  }
}

function readQuery(dto: Type<object>, query: JsonValue = null): object {
  const values = isJsonObject(query) ? query : {};
  return readFields(dto, 'query', new RequestFields(values, null, isStrict(dto) ? 'query' : undefined));
}

function readBody(dto: Type<object>, body: JsonValue = null): object {
  if (body === null) throw new RequestInvalid([missing(null).at('body')]);
  if (!isJsonObject(body)) return refuse(dto, 'body', [notAnObject(body).at('body')], 1);
  return readFields(dto, 'body', new RequestFields(body, body, isStrict(dto) ? 'body' : undefined));
}

function readFields(dto: Type<object>, place: 'query' | 'body', fields: RequestFields): object {
  const read = readInstance(dto, fields);
  return read instanceof RefusedItems ? refuse(dto, place, read.at(place), read.count) : read;
}

/** The specification has every mistake listed. It knows no strict DTO. */
function refuse(
  dto: Type<object>,
  place: 'query' | 'body',
  mistakes: Iterable<ValidationItem>,
  count: number,
): never {
  throw new RequestInvalid(isStrict(dto) ? boundedMistakes(mistakes, count, place) : [...mistakes]);
}
