import { DefaultNamingStrategy, type Table } from 'typeorm';

export const snakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const tableNameOf = (table: Table | string): string => (typeof table === 'string' ? table : table.name);

/** Names columns and constraints as PostgreSQL itself would: `user_id`, `orders_user_id_fkey`. */
export class SnakeNamingStrategy extends DefaultNamingStrategy {
  override columnName(propertyName: string, customName: string | undefined): string {
    return customName ?? snakeCase(propertyName);
  }

  override primaryKeyName(table: Table | string): string {
    return `${tableNameOf(table)}_pkey`;
  }

  override uniqueConstraintName(table: Table | string, columnNames: string[]): string {
    return `${tableNameOf(table)}_${columnNames.join('_')}_key`;
  }

  override foreignKeyName(table: Table | string, columnNames: string[]): string {
    return `${tableNameOf(table)}_${columnNames.join('_')}_fkey`;
  }
}
