/** Builds the WHERE clause of a filtered list, with its parameters. */
export class Conditions {
  readonly parameters: unknown[] = [];
  private readonly conditions: string[] = [];

  /** Adds a parameter and returns its placeholder, such as `$1`. */
  given(value: unknown): string {
    return `$${this.parameters.push(value)}`;
  }

  add(condition: string): void {
    this.conditions.push(condition);
  }

  /** Adds a condition on a value, unless the value is empty. */
  by(value: unknown, condition: (place: string) => string): void {
    if (value !== null && value !== undefined && value !== '') this.add(condition(this.given(value)));
  }

  toPageSql(
    { cursor, limit }: { readonly cursor: number | null; readonly limit: number },
    id = 'id',
  ): string {
    // Add the condition even without a cursor, so that the query plan is always the same.
    this.add(`${id} < ${this.given(cursor ?? Number.MAX_SAFE_INTEGER)}`);
    return `${this.toSql()} ORDER BY ${id} DESC LIMIT ${this.given(limit)}`;
  }

  toSql(): string {
    return this.conditions.length > 0 ? `WHERE ${this.conditions.join(' AND ')}` : '';
  }
}
