import type { JsonObject, JsonValue } from '../json/json-value';
import type { StrictPlace } from './strict-request';

/**
 * The values that a DTO is read from. They are hidden from class-transformer, which walks into every property
 * and trusts what it finds there, for example a `constructor`.
 */
export class RequestFields {
  readonly #values: JsonObject;
  readonly #inputWhenMissing: JsonValue;

  readonly #strict: StrictPlace | undefined;

  /**
   * @param inputWhenMissing the `input` in the item of a missing field
   * @param strict where the fields stand when they are read strictly
   */
  constructor(values: JsonObject, inputWhenMissing: JsonValue, strict?: StrictPlace) {
    this.#values = values;
    this.#inputWhenMissing = inputWhenMissing;
    this.#strict = strict;
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

  get strict(): StrictPlace | undefined {
    return this.#strict;
  }
}
