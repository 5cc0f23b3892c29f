import type { JsonObject, JsonValue } from '../json/json-value';
import type { FieldPlace } from './strict-request';

/** The values that a DTO is read from. */
export class RequestFields {
  /** @param inputWhenMissing the `input` in the item of a missing field */
  constructor(
    private readonly values: JsonObject,
    readonly inputWhenMissing: JsonValue,
    readonly place: FieldPlace,
    private readonly isStrict: boolean,
  ) {}

  /** The fields of a nested object. */
  within(values: JsonObject): RequestFields {
    return new RequestFields(values, values, this.place, this.isStrict);
  }

  get names(): readonly string[] {
    return Object.keys(this.values);
  }

  find(name: string): JsonValue | undefined {
    return Object.hasOwn(this.values, name) ? this.values[name] : undefined;
  }

  /** The place of the fields if they are read strictly. */
  get strict(): FieldPlace | undefined {
    return this.isStrict ? this.place : undefined;
  }
}
