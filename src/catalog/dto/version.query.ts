import { IP_VERSION_PATTERN, type IpVersion } from '../../common';
import { StringField } from '../../http';

/** The query of `GET /countries` and `GET /countries/{country}/count`. */
export class VersionQuery {
  @StringField({ pattern: IP_VERSION_PATTERN, default: '6' })
  readonly version!: IpVersion;
}
