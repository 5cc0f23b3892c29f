import { DefaultNamingStrategy, type Table } from 'typeorm';

export const snakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Names columns as the schema does: `userId` is `user_id`. */
export class SnakeNamingStrategy extends DefaultNamingStrategy {
  override columnName(propertyName: string, customName: string | undefined): string {
    return customName ?? snakeCase(propertyName);
  }

  /** TypeORM creates the table of the migrations itself: its key gets PostgreSQL's default name. */
  override primaryKeyName(table: Table | string): string {
    return `${typeof table === 'string' ? table : table.name}_pkey`;
  }
}
