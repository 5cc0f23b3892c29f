import type { JsonObject, JsonValue } from '../json/json-value';

/**
 * The values that a DTO is read from. They are out of class-transformer's sight, which walks into every property it finds
 * and trusts what it meets there (`constructor`, for one).
 */
export class RequestFields {
  readonly #values: JsonObject;
  readonly #inputWhenMissing: JsonValue;

  /** @param inputWhenMissing what the item of a missing field shows as its input */
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
