/** The conditions of a list that is filtered, with the parameters of their statement. */
export class Conditions {
  readonly parameters: unknown[] = [];
  private readonly conditions: string[] = [];

  /** Adds a parameter and returns its place in the statement: `$1`. */
  given(value: unknown): string {
    return `$${this.parameters.push(value)}`;
  }

  add(condition: string): void {
    this.conditions.push(condition);
  }

  /** Filters by a value, unless it is null, undefined or empty. @param condition receives its place */
  by(value: unknown, condition: (place: string) => string): void {
    if (value !== null && value !== undefined && value !== '') this.add(condition(this.given(value)));
  }

  /** `WHERE … AND …`, or nothing. */
  toSql(): string {
    return this.conditions.length > 0 ? `WHERE ${this.conditions.join(' AND ')}` : '';
  }
}
