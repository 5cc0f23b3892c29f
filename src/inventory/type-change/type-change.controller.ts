import { Body, Controller, Param, Put } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentUserId, Scopes } from '../../auth';
import { ProxyOut } from '../../proxies';
import { TypeChangeDocs } from './type-change.docs';
import { TypeChangeRequest } from './type-change.request';
import { TypeChangeService } from './type-change.service';

@ApiTags('Proxies')
@Controller('proxies')
export class TypeChangeController {
  constructor(private readonly changes: TypeChangeService) {}

  @Put(':proxy_id/type')
  @Scopes('proxies:write')
  @TypeChangeDocs()
  changeProxyType(
    @CurrentUserId() userId: number,
    @Param('proxy_id') proxyId: string,
    @Body() { proxy_type: proxyType }: TypeChangeRequest,
  ): Promise<ProxyOut> {
    return this.changes.change(userId, proxyId, proxyType);
  }
}
