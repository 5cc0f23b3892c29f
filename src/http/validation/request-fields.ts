import type { JsonObject, JsonValue } from '../json/json-value';
import type { FieldPlace } from './strict-request';

/** Hides the values from class-transformer, which would trust a field named `constructor`. */
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

  /** Undefined if the fields are read leniently. */
  get strict(): FieldPlace | undefined {
    return this.#isStrict ? this.#place : undefined;
  }
}
