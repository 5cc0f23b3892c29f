export { ActiveFlagsService } from './active-flags.service';
export { ProxyOut, toProxyOut } from './dto/proxy-out.dto';
export { ProxiesModule } from './proxies.module';
export { ProxiesService } from './proxies.service';
export { Proxy } from './proxy.entity';
