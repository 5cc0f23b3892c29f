import { StringField } from '../../http';

/** The query of `GET /countries` and `GET /countries/{country}/count`. */
export class VersionQuery {
  @StringField({ pattern: '^(6|4|4s)$', default: '6' })
  readonly version!: '6' | '4' | '4s';
}
