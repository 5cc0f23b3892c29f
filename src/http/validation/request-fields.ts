import type { JsonObject, JsonValue } from '../json/json-value';
import type { FieldPlace } from './strict-request';

/** Wraps the values to read into a DTO: class-transformer would trust e.g. a `constructor` in them. */
export class RequestFields {
  readonly #values: JsonObject;
  readonly #inputWhenMissing: JsonValue;
  readonly #place: FieldPlace;
  readonly #isStrict: boolean;

  /** @param inputWhenMissing the `input` to report for a missing field */
  constructor(values: JsonObject, inputWhenMissing: JsonValue, place: FieldPlace, isStrict: boolean) {
    this.#values = values;
    this.#inputWhenMissing = inputWhenMissing;
    this.#place = place;
    this.#isStrict = isStrict;
  }

  /** Returns the fields of a nested object. */
  within(values: JsonObject): RequestFields {
    return new RequestFields(values, values, this.#place, this.#isStrict);
  }

  get names(): readonly string[] {
    return Object.keys(this.#values);
  }

  find(name: string): JsonValue | undefined {
    return Object.hasOwn(this.#values, name) ? this.#values[name] : undefined;
  }

  get inputWhenMissing(): JsonValue {
    return this.#inputWhenMissing;
  }

  get place(): FieldPlace {
    return this.#place;
  }

  /** The place of the fields if they are read strictly, otherwise undefined. */
  get strict(): FieldPlace | undefined {
    return this.#isStrict ? this.#place : undefined;
  }
}
