/** An invalid body or parameter: HTTP 400. */
export class BadRequestError extends Error {}

/** Reads the fields of a JSON body, with errors that name the field. */
export class Fields {
  private readonly values: Readonly<Record<string, unknown>>;

  constructor(body: unknown, known: readonly string[]) {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      throw new BadRequestError('The body must be a JSON object');
    }
    this.values = { ...body };
    const unknown = Object.keys(body).find((name) => !known.includes(name));
    if (unknown !== undefined) {
      throw new BadRequestError(`Unknown field ${unknown}; known: ${known.join(', ')}`);
    }
  }

  has(name: string): boolean {
    return this.values[name] !== undefined;
  }

  isNull(name: string): boolean {
    return this.values[name] === null;
  }

  getInteger(name: string, min = 0, max = Number.MAX_SAFE_INTEGER): number {
    const value = this.values[name];
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max) {
      return value;
    }
    throw new BadRequestError(`${name} must be an integer from ${min} to ${max}`);
  }

  getNumber(name: string, min: number, max: number): number {
    const value = this.values[name];
    if (typeof value === 'number' && value >= min && value <= max) return value;
    throw new BadRequestError(`${name} must be a number from ${min} to ${max}`);
  }

  getString(name: string): string {
    const value = this.values[name];
    if (typeof value === 'string' && value !== '') return value;
    throw new BadRequestError(`${name} must be a string`);
  }

  getBoolean(name: string): boolean {
    const value = this.values[name];
    if (typeof value === 'boolean') return value;
    throw new BadRequestError(`${name} must be true or false`);
  }

  getOneOf<T extends string>(name: string, choices: readonly T[]): T {
    const choice = choices.find((each) => each === this.values[name]);
    if (choice === undefined) throw new BadRequestError(`${name} must be one of ${choices.join(', ')}`);
    return choice;
  }

  /** Reads roubles as a decimal string; gives kopecks. */
  getKopecks(name: string): number {
    const match = /^(\d{1,12})(?:\.(\d{1,2}))?$/.exec(this.getString(name));
    if (!match) throw new BadRequestError(`${name} must be roubles, such as "1234.50"`);
    const [, whole = '', fraction = ''] = match;
    return Number(whole) * 100 + Number(fraction.padEnd(2, '0'));
  }

  getStrings(name: string): Record<string, string> {
    const value = this.values[name];
    const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
    if (
      entries.length === 0 ||
      !entries.every((entry): entry is [string, string] => typeof entry[1] === 'string')
    ) {
      throw new BadRequestError(`${name} must be an object of strings`);
    }
    return Object.fromEntries(entries);
  }
}
