export { ActiveFlagsService } from './active-flags.service';
export { ProxyOut, toProxyOut } from './dto/proxy-out.dto';
export { ALL_PROXIES, isUnfiltered, type ProxyFilter, proxyFilterSql } from './filter/proxy-filter';
export { ProxyFilterBody, ProxyFilterQuery, toProxyFilter } from './filter/proxy-filter.query';
export { ProxiesModule } from './proxies.module';
export { ProxiesService } from './proxies.service';
export { Proxy } from './proxy.entity';
