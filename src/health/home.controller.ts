import { Controller, Get } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../auth';
import { SERVICE_NAME, SERVICE_VERSION } from '../common';

const HOME = {
  name: SERVICE_NAME,
  version: SERVICE_VERSION,
  docs: '/docs',
  openapi: '/openapi.json',
  staff_docs: '/staff/docs',
  staff_openapi: '/staff/openapi.json',
  health: '/health',
} as const;

@ApiExcludeController()
@Controller()
export class HomeController {
  @Get()
  @Public()
  home(): typeof HOME {
    return HOME;
  }
}
