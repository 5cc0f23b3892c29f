export { ProxyOut, toProxyOut } from './dto/proxy-out.dto';
export { ProxiesModule } from './proxies.module';
export { ProxiesService } from './proxies.service';
export { Proxy } from './proxy.entity';
