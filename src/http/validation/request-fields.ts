import type { JsonObject, JsonValue } from '../json/json-value';

/**
 * The values that a DTO is read from. They are hidden from class-transformer, which walks into every property
 * and trusts what it finds there, for example a `constructor`.
 */
export class RequestFields {
  readonly #values: JsonObject;
  readonly #inputWhenMissing: JsonValue;

  /** @param inputWhenMissing the `input` in the item of a missing field */
  constructor(values: JsonObject, inputWhenMissing: JsonValue) {
    this.#values = values;
    this.#inputWhenMissing = inputWhenMissing;
  }

  find(name: string): JsonValue | undefined {
    return Object.hasOwn(this.#values, name) ? this.#values[name] : undefined;
  }

  get inputWhenMissing(): JsonValue {
    return this.#inputWhenMissing;
  }
}
