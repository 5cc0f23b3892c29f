import { IP_VERSION_PATTERN, IP_VERSIONS_TEXT, type IpVersion } from '../../common';
import { StringField } from '../../http';

/** The query of `GET /countries` and `GET /countries/{country}/count`. */
export class VersionQuery {
  @StringField({ description: IP_VERSIONS_TEXT, pattern: IP_VERSION_PATTERN, default: '6' })
  readonly version!: IpVersion;
}
