import { type ArgumentMetadata, Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { isJsonObject, type JsonValue } from '../json/json-value';
import { missing, notAnObject } from './fields';
import { readInstance } from './read-instance';
import { RefusedItems } from './refusal';
import { RequestFields } from './request-fields';
import { RequestInvalid } from './request-invalid';

const BUILT_IN: readonly unknown[] = [undefined, Object, Array, String, Number, Boolean];

/** What is asked again and again is short, and there is not much of it. */
const MOST_REMEMBERED = 2000;
const LONGEST_REMEMBERED = 200;

/**
 * Makes the query or the body of a request an instance of its DTO: declared fields alone, coerced, defaults filled in.
 * Throws `RequestInvalid` with every item, in the order in which the DTO declares its fields.
 */
@Injectable()
export class RequestValidationPipe implements PipeTransform<JsonValue | undefined> {
  /** Queries that were valid, by the DTO's number and the query itself. Validating takes longer than most answers. */
  private readonly queries = new LRUCache<string, object>({ max: MOST_REMEMBERED });
  private readonly numbers = new Map<Type<object>, number>();

  transform(value: JsonValue | undefined, { type, metatype }: ArgumentMetadata): unknown {
    if (metatype === undefined || BUILT_IN.includes(metatype)) return value;
    if (type === 'query') return this.readQuery(metatype, value);
    if (type === 'body') return readBody(metatype, value);
    return value;
  }

  private readQuery(dto: Type<object>, query: JsonValue = null): object {
    const values = isJsonObject(query) ? query : {};
    const key = `${this.numberOf(dto)} ${JSON.stringify(values)}`;
    const known = this.queries.get(key);
    if (known) return known;
    const read = Object.freeze(readFields(dto, 'query', new RequestFields(values, null)));
    if (key.length <= LONGEST_REMEMBERED) this.queries.set(key, read);
    return read;
  }

  private numberOf(dto: Type<object>): number {
    let number = this.numbers.get(dto);
    if (number === undefined) this.numbers.set(dto, (number = this.numbers.size));
    return number;
  }
}

function readBody(dto: Type<object>, body: JsonValue = null): object {
  if (body === null) throw new RequestInvalid([missing(null).at('body')]);
  if (!isJsonObject(body)) throw new RequestInvalid([notAnObject(body).at('body')]);
  return readFields(dto, 'body', new RequestFields(body, body));
}

function readFields(dto: Type<object>, place: 'query' | 'body', fields: RequestFields): object {
  const read = readInstance(dto, fields);
  if (read instanceof RefusedItems) throw new RequestInvalid(read.at(place));
  return read;
}
